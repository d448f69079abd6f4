/* A bank account with one unprotected path.
 *
 * Deposits take the lock, the monthly fee was forgotten. A single lost update in a run is easily
 * overlooked, and in most runs nothing is lost at all.
 */
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    long balance;
} account = {PTHREAD_MUTEX_INITIALIZER, 100};

static void *deposit_twice(void *unused)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&account.lock);
        long before = account.balance;  /* @deposit_read */
        account.balance = before + 50;  /* @deposit_write */
        pthread_mutex_unlock(&account.lock);
    }
    return unused;
}

static void *charge_fee(void *unused)
{
    long before = account.balance; /* @fee_read */
    account.balance = before - 5;  /* @fee_write */
    return unused;
}

int main(void)
{
    pthread_t d, f;
    pthread_create(&d, NULL, deposit_twice, NULL);
    pthread_create(&f, NULL, charge_fee, NULL);
    pthread_join(d, NULL);
    pthread_join(f, NULL);
    return 0;
}
