// The length is read for the allocation, and again for the copy.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    size_t length;
    char text[64];
} message = {8, "message"};

static void *receive(void *unused)
{
    pthread_mutex_lock(&lock);
    size_t length = message.length; /* @first */
    pthread_mutex_unlock(&lock);
    char *copy = malloc(length);
    if (copy) {
        pthread_mutex_lock(&lock);
        memcpy(copy, message.text, message.length); /* @second */
        pthread_mutex_unlock(&lock);
        free(copy);
    }
    return unused;
}

static void *resize(void *unused)
{
    pthread_mutex_lock(&lock);
    message.length = 64; /* @between */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, receive, NULL);
    pthread_create(&second, NULL, resize, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
