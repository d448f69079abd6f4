/* Has a temporary file, and dies if the one thread comes before the other. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static char name[] = "file-XXXXXX";
static int value;
static int *pointer;

static void *sets(void *unused)
{
    pointer = &value;
    return unused;
}

static void *uses(void *unused)
{
    usleep(20000);
    if (name[sizeof name - 2] != '\0')
        value = *pointer;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    if (mkstemp(name) < 0)
        return 2;
    pthread_create(&threads[0], NULL, sets, NULL);
    pthread_create(&threads[1], NULL, uses, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return unlink(name);
}
