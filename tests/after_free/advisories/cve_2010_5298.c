// CVE-2010-5298, ssl/s3_pkt.c of OpenSSL: with SSL_MODE_RELEASE_BUFFERS, a read gave its buffer back as soon as its record
// was used up, though another read was still to copy what is left in it. The fix releases it only if nothing is left.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *bytes;
    int left;
} buffer;

static void *reads(void *argument)
{
    for (int part = 0; part < 2; part++) {
        pthread_mutex_lock(&lock);
        char *bytes = buffer.bytes;
        int mine = bytes && buffer.left ? buffer.left-- : 0;
#ifndef FIXED
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
#endif
        if (mine)
            bytes[mine - 1] = 0; /* @use */
        if (mine && buffer.left == 0 && buffer.bytes) {
            free(buffer.bytes); /* @free */
            buffer.bytes = NULL;
        }
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void)
{
    buffer.bytes = calloc(2, 1);
    buffer.left = 2;
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&readers[i], NULL, reads, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    return 0;
}
