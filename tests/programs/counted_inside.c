/* Threads that count themselves while they are inside, or leave a mark there, keep nobody out. In a run in which no two
 * meet, the count is like a lock that each finds free; so is a real one, which nobody had to wait for. Nothing that one
 * run shows tells them apart.
 */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int inside, mark, lock;
static int counted, marked, guarded;

static void *work(void *unused)
{
    atomic_fetch_add(&inside, 1);
    counted = 1; /* @counted */
    atomic_fetch_sub(&inside, 1);

    atomic_exchange(&mark, 1);
    marked = 1; /* @marked */
    atomic_store(&mark, 0);

    while (atomic_exchange(&lock, 1))
        ;
    guarded++; /* @guarded */
    atomic_store(&lock, 0);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return counted + marked + guarded - 4;
}
