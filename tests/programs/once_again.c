/* A once cell that the program sets again is another one: the end of its first initialization says nothing of the second.
 *
 * Each round has the cell initialized by whichever thread comes first; the other reads what that one wrote. A model in
 * which the cell is still the first round's reports a race in the second.
 */
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once;
static int value;

static void initialize(void)
{
    value = 1; /* @initializes */
}

static void *body(void *unused)
{
    pthread_once(&once, initialize);
    if (value != 1) /* @reads */
        abort();
    return unused;
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        pthread_t a, b;
        once = (pthread_once_t)PTHREAD_ONCE_INIT;
        value = 0;
        pthread_create(&a, NULL, body, NULL);
        pthread_create(&b, NULL, body, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    return 0;
}
