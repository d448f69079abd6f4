/* The first thread waits for a flag that a function sets which nobody records: it is ordered behind what the other
   thread did before. The flag is static data, which only the first thread is seen to read. */
#include <pthread.h>
#include <sched.h>

static volatile int flag;
static int shared;

void set(volatile int *to, int value);
__asm__(".text\n.type set, @function\nset:\n\tmovl %esi, (%rdi)\n\tret\n.size set, .-set\n");

static void *other(void *unused)
{
    shared = 1; /* @first */
    set(&flag, 1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    while (!flag)
        sched_yield();
    shared = 2; /* @second */
    pthread_join(thread, NULL);
    return 0;
}
