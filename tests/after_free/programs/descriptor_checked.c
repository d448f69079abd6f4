// The harmless twin of descriptor.c: who writes looks whether the log is open.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

static void *note(void *argument)
{
    pthread_mutex_lock(&lock);
    if (log_file >= 0 && write(log_file, "x", 1) != 1)
        argument = NULL;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *finish(void *argument)
{
    pthread_mutex_lock(&lock);
    close(log_file);
    log_file = -1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    log_file = open("/dev/null", O_WRONLY);
    pthread_t writer, closer;
    pthread_create(&writer, NULL, note, NULL);
    pthread_create(&closer, NULL, finish, NULL);
    pthread_join(writer, NULL);
    pthread_join(closer, NULL);
    return 0;
}
