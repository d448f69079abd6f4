// One thread counts the parts, another one divides by their number.
#include <pthread.h>

static pthread_spinlock_t lock;
static int parts;

static void *divide(void *unused)
{
    pthread_spin_lock(&lock);
    int share = 1000 / parts; /* @early */
    pthread_spin_unlock(&lock);
    return share > 1000 ? unused : NULL;
}

static void *measure(void *unused)
{
    pthread_spin_lock(&lock);
    parts = 8; /* @first */
    pthread_spin_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&one, NULL, measure, NULL);
    pthread_create(&other, NULL, divide, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
