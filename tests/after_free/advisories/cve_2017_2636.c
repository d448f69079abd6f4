// CVE-2017-2636, drivers/tty/n_hdlc.c of Linux: after an error the buffer that is being sent stays in n_hdlc.tbuf. A flush
// and a retry both put that buffer into the list of free buffers, so closing frees it twice. The fix takes the buffer out
// under the list's lock.
#include <pthread.h>
#include <stdlib.h>

#define PLACES 4
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static char *free_list[PLACES];
static int listed;
static char *sending;

static char *take(void)
{
    char *buffer = sending;
    sending = NULL;
    return buffer;
}

static void *flushes(void *argument)
{
    pthread_mutex_lock(&list_lock);
#ifdef FIXED
    char *buffer = take();
#else
    char *buffer = sending;
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_lock(&list_lock);
    take();
#endif
    if (buffer)
        free_list[listed++] = buffer;
    pthread_mutex_unlock(&list_lock);
    return argument;
}

int main(void)
{
    sending = malloc(8);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, flushes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < listed; i++)
        free(free_list[i]); /* @free */
    return 0;
}
