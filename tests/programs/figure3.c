/* Figure 3 of Said, Wang, Yang, Sakallah (NFM 2011), in C.
 *
 * One store of y is under the lock, the other is not, so a lockset tool warns. But the second
 * thread read x = 10, and only between the first thread's two sections is x = 10; its store of y is
 * in the same section as that read, so it is over before x = 20 is stored, hence before y = 30.
 * In a run in which the second thread comes last and reads x = 20, the stores do race: that is
 * another trace.
 */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, y;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    x = 10;
    pthread_mutex_unlock(&lock);
    usleep(20000); /* the second thread's turn */
    pthread_mutex_lock(&lock);
    x = 20;
    pthread_mutex_unlock(&lock);
    y = 30; /* @y_unlocked */
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = x; /* @x_read */
    y = 20;       /* @y_locked */
    pthread_mutex_unlock(&lock);
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, first, NULL);
    pthread_create(&t2, NULL, second, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
