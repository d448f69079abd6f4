/* A thread keeps one word in a register and one on its stack, while it calls the recorder's runtime for an atomic variable and a lock. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *user(void *argument)
{
    unsigned long kept;
    volatile unsigned long on_the_stack = 0x5ac5;
    __asm__ volatile("mov $0x4e915, %%rbx" ::: "rbx");
    __asm__ volatile("mov %%rbx, %0" : "=r"(kept)::"rbx");
    register unsigned long held __asm__("rbx") = kept;
    __asm__ volatile("" : "+r"(held));
    atomic_fetch_add(&shared, 1);
    __asm__ volatile("" : "+r"(held));
    pthread_mutex_lock(&lock);
    __asm__ volatile("" : "+r"(held));
    pthread_mutex_unlock(&lock);
    return argument + (on_the_stack & 0);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
    pthread_join(thread, 0);
    return 0;
}
