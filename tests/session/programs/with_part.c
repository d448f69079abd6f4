/* Two threads fill the same memory, in another file (part.c). */
#include <pthread.h>

void fill(int *room);

static int room[4];

static void *work(void *unused)
{
    fill(room);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    fill(room);
    pthread_join(thread, 0);
    return 0;
}
