// The connection's buffer is looked at in one critical section and used in the next. In between it can be taken away.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer {
    int length;
} *buffer;
static int connected;

static void *send(void *argument)
{
    pthread_mutex_lock(&lock);
    int goes = connected;
    pthread_mutex_unlock(&lock);
    if (goes) {
        pthread_mutex_lock(&lock);
        buffer->length++; /* @use */
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void *hang_up(void *argument)
{
    pthread_mutex_lock(&lock);
    connected = 0;
    buffer = NULL; /* @clear */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    static struct buffer of_connection;
    buffer = &of_connection;
    connected = 1;
    pthread_t sender, closer;
    pthread_create(&sender, NULL, send, NULL);
    pthread_create(&closer, NULL, hang_up, NULL);
    pthread_join(sender, NULL);
    pthread_join(closer, NULL);
    return 0;
}
