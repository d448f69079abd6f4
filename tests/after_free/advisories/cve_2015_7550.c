// CVE-2015-7550, security/keys/keyctl.c of Linux: reading a key looked whether the key was valid, and took the lock under
// which it reads the payload only after that. A revocation in between takes the payload away, and NULL is followed. The
// fix looks under the lock.
#include <pthread.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    int revoked;
    int *payload;
} key = {PTHREAD_MUTEX_INITIALIZER, 0, NULL};

static int is_valid(void)
{
#ifndef FIXED
    pthread_mutex_lock(&key.lock);
#endif
    int valid = !key.revoked;
#ifndef FIXED
    pthread_mutex_unlock(&key.lock);
#endif
    return valid;
}

static void *reads(void *argument)
{
#ifdef FIXED
    pthread_mutex_lock(&key.lock);
    int first = is_valid() ? *key.payload : 0;
    pthread_mutex_unlock(&key.lock);
#else
    if (!is_valid())
        return NULL;
    pthread_mutex_lock(&key.lock);
    int first = *key.payload; /* @use */
    pthread_mutex_unlock(&key.lock);
#endif
    return first ? argument : NULL;
}

static void *revokes(void *argument)
{
    pthread_mutex_lock(&key.lock);
    key.revoked = 1;
    free(key.payload); /* @free */
    key.payload = NULL;
    pthread_mutex_unlock(&key.lock);
    return argument;
}

int main(void)
{
    key.payload = calloc(1, sizeof *key.payload);
    pthread_t reader, revoker;
    pthread_create(&reader, NULL, reads, NULL);
    pthread_create(&revoker, NULL, revokes, NULL);
    pthread_join(reader, NULL);
    pthread_join(revoker, NULL);
    return 0;
}
