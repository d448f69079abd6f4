// A log is closed under its lock, and written to under its lock.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

static void *note(void *argument)
{
    pthread_mutex_lock(&lock);
    if (write(log_file, "x", 1) != 1) /* @use */
        argument = NULL;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *finish(void *argument)
{
    pthread_mutex_lock(&lock);
    close(log_file); /* @free */
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
