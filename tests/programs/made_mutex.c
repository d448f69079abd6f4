/* A mutex that the program makes of a flag, a lock and a condition, and beside it a flag that looks the same in a run in
 * which the threads do not meet: nobody waits for it, so what is between setting and clearing it races.
 */
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t free_again = PTHREAD_COND_INITIALIZER;
static int held, shown, seen_shown;
static int guarded, bare;

static void take(void)
{
    pthread_mutex_lock(&lock);
    while (held)
        pthread_cond_wait(&free_again, &lock);
    held = 1; /* @take */
    pthread_mutex_unlock(&lock);
}

static void give_back(void)
{
    pthread_mutex_lock(&lock);
    held = 0;
    pthread_cond_signal(&free_again);
    pthread_mutex_unlock(&lock);
}

static void show(int now)
{
    pthread_mutex_lock(&lock);
    seen_shown += shown;
    shown = now;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        take();
        guarded++; /* @guarded */
        give_back();
    }
    for (int i = 0; i < ROUNDS; i++) {
        show(1);
        bare++; /* @bare */
        show(0);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return guarded == THREADS * ROUNDS ? 0 : 1;
}
