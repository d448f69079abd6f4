// CVE-2015-3196, ssl/s3_clnt.c of OpenSSL: the identity hint that a server sends was stored in the context, which the
// connections of all threads share. Two threads free the same old hint. The fix stores it in the session.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *context_hint;

static void *handshake(void *argument)
{
    char *new = calloc(1, 8);
#ifdef FIXED
    char *session_hint = new;
    free(session_hint);
#else
    pthread_mutex_lock(&lock);
    char *old = context_hint;
    pthread_mutex_unlock(&lock);
    free(old); /* @free */
    pthread_mutex_lock(&lock);
    context_hint = new;
    pthread_mutex_unlock(&lock);
#endif
    return argument;
}

int main(void)
{
    context_hint = calloc(1, 8);
    pthread_t clients[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&clients[i], NULL, handshake, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(clients[i], NULL);
    pthread_mutex_lock(&lock);
    free(context_hint);
    pthread_mutex_unlock(&lock);
    return 0;
}
