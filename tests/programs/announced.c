/* A reader announces itself, without looking again, and a writer looks whether it does: before and behind, nobody does, so
   the writer may look too early, and write beside the reader. What the flags hold at first, no read shows: the run in the
   order of creation writes them first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int reading;
static int data, locked_data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_read, may_be_read = 1;

static void set(int *flag, int value)
{
    pthread_mutex_lock(&lock);
    *flag = value;
    pthread_mutex_unlock(&lock);
}

static int get(int *flag)
{
    pthread_mutex_lock(&lock);
    int value = *flag;
    pthread_mutex_unlock(&lock);
    return value;
}

static void *reader(void *unused)
{
    atomic_store(&reading, 1);
    int seen = data; /* @reads */
    atomic_store(&reading, 0);
    set(&is_read, 1);
    seen += locked_data; /* @reads_locked */
    set(&is_read, 0);
    set(&may_be_read, 0);
    return seen > 9 ? unused : NULL;
}

static void *writer(void *unused)
{
    if (atomic_load(&reading) == 0)
        data = 2; /* @writes */
    if (!get(&is_read))
        locked_data = 2; /* @writes_locked */
    if (!get(&may_be_read))
        locked_data = 3; /* @writes_late */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
