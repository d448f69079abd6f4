/* Entries come, are looked at and go, all under one lock, tens of thousands of times, and nobody looks behind an end. At last a
   thread looks at an entry that it had found under the lock before: in another order, behind its end. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 50000 };

/* Made as two halves and looked at as a whole. */
union entry {
    int halves[2];
    long whole;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static union entry *entries[2];
static long sum;

static void make(union entry **entry)
{
    *entry = malloc(sizeof **entry);
    (*entry)->halves[0] = 1;
    (*entry)->halves[1] = 2;
}

static void look_at(const union entry *entry)
{
    sum += entry->whole; /* @use */
}

static void end(union entry **entry)
{
    free(*entry); /* @free */
    *entry = NULL;
}

static void *works(void *number)
{
    unsigned next = (unsigned)(size_t)number * 7919;
    for (int round = 0; round < ROUNDS; round++) {
        next = next * 1103515245 + 12345;
        union entry **entry = &entries[next >> 16 & 1];
        pthread_mutex_lock(&lock);
        if (!*entry)
            make(entry);
        else if (next >> 24 & 3)
            look_at(*entry);
        else
            end(entry);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *looks_late(void *unused)
{
    pthread_mutex_lock(&lock);
    const union entry *found = entries[0];
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    if (found)
        look_at(found);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *ends(void *unused)
{
    pthread_mutex_lock(&lock);
    end(&entries[0]);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, works, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!entries[0])
        make(&entries[0]);
    pthread_create(&threads[0], NULL, looks_late, NULL);
    /* So that it looks before the end, most likely. */
    for (int i = 0; i < 100; i++)
        sched_yield();
    pthread_create(&threads[1], NULL, ends, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
