/* What a thread does depends on the processor's clock, by the compiler's instructions and by inline assembly. */
#include <pthread.h>
#include <stdio.h>
#include <x86intrin.h>

static volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long long by_assembly(void)
{
    unsigned long long now;
    __asm__ volatile("lfence; rdtsc\n\tshl $32, %%rdx; or %%rdx, %%rax" : "=a"(now) : : "rdx", "cc");
    return now;
}

static void *other(void *unused)
{
    unsigned processor;
    printf("one %llu\n", __rdtsc());
    printf("two %llu\n", by_assembly());
    unsigned long long three = __rdtscp(&processor);
    printf("three %llu on %u\n", three, processor);
    /* Taken by chance: its own path in each run. */
    if (by_assembly() / 64 % 2)
        fflush(stdout);
    for (unsigned long long rounds = __rdtsc() % 8; rounds > 0; rounds--) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    shared = 1; /* a */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    shared = 2; /* b */
    pthread_join(thread, NULL);
    return 0;
}
