/* Uses a library that was busy before recording began. */
#include <pthread.h>
#include <stdio.h>

int part_use(void);
void part_open(void);
int part_enter(void);

static void *other(void *unused)
{
    part_use();
    part_enter();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    part_use();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, other, 0);
    part_open();
    part_use();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", part_use());
}
