/* Local variables that other threads are given the address of.
 *
 * One lives on the stack of main, one on the stack of a thread, which is memory that begins and ends
 * with that thread.
 */
#include <pthread.h>

struct pair {
    int *of_main, *of_thread;
};

static void *inner(void *argument)
{
    struct pair *pair = argument;
    *pair->of_main = 2;   /* @inner_main */
    *pair->of_thread = 2; /* @inner_thread */
    return NULL;
}

static void *outer(void *of_main)
{
    int own = 0;
    struct pair pair = {of_main, &own};
    pthread_t t;
    pthread_create(&t, NULL, inner, &pair);
    own = 1; /* @outer_thread */
    pthread_join(t, NULL);
    return NULL;
}

int main(void)
{
    int own = 0;
    pthread_t t;
    pthread_create(&t, NULL, outer, &own);
    own = 1; /* @main */
    pthread_join(t, NULL);
    return 0;
}
