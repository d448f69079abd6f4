// CVE-2015-1791, ssl/s3_clnt.c of OpenSSL: a client that got a new ticket wrote it into the session, which other threads
// may share: one frees the old ticket that another has freed, or still reads. The fix works on a copy of the session.
#include <pthread.h>
#include <stdlib.h>

#ifndef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static struct {
    char *ticket;
} session;

static void *gets_ticket(void *argument)
{
#ifdef FIXED
    char *ticket = malloc(8);
    ticket[0] = 1;
    free(ticket);
#else
    pthread_mutex_lock(&lock);
    free(session.ticket); /* @free */
    pthread_mutex_unlock(&lock);
    // The new ticket is read from the connection here.
    char *new = malloc(8);
    new[0] = 1;
    pthread_mutex_lock(&lock);
    session.ticket = new;
    pthread_mutex_unlock(&lock);
#endif
    return argument;
}

int main(void)
{
    session.ticket = malloc(8);
    pthread_t clients[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&clients[i], NULL, gets_ticket, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(clients[i], NULL);
    free(session.ticket);
    return 0;
}
