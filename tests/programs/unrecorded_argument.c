/* Code that is not recorded changes a local variable of another thread, whose address it got as its argument.
 *
 * No store shows that the address was given away, yet the variable is not the main thread's alone: the read of `page` comes
 * only after the flag, and nothing else keeps it there.
 */
#include <pthread.h>
#include <unistd.h>

static int page;

static void write_page(void)
{
    page = 7; /* @write */
}

__attribute__((no_sanitize_thread)) static void *work(void *flag)
{
    write_page();
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
    return 0;
}

int main(void)
{
    int flag = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &flag);
    while (!*(volatile int *)&flag)
        usleep(100);
    int seen = page; /* @read */
    (void)seen;
    pthread_join(thread, NULL);
    return 0;
}
