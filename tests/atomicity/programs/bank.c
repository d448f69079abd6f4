// Whether there is enough is asked in one section, and the money taken in the next one; in between, the account is closed.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *withdraw(void *unused)
{
    pthread_mutex_lock(&lock);
    int enough = balance >= 60; /* @first */
    pthread_mutex_unlock(&lock);
    if (enough) {
        pthread_mutex_lock(&lock);
        balance -= 60; /* @second */
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *close_account(void *unused)
{
    pthread_mutex_lock(&lock);
    balance = 0; /* @between */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, withdraw, NULL);
    pthread_create(&second, NULL, close_account, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
