/* Descriptor 0 is closed by one thread while main gives another one the address of a variable of its own. What the
 * recorder notes of the latter is no use of the descriptor, however often that was closed before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *closes(void *unused)
{
    close(0); /* @close */
    return unused;
}

static void *looks(void *number)
{
    return *(int *)number ? number : NULL;
}

int main(void)
{
    int number = 1;
    for (int i = 0; i < 2; i++) {
        close(0);
        if (open("/dev/null", O_RDONLY) != 0)
            return 1;
    }
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, closes, NULL);
    pthread_create(&threads[1], NULL, looks, &number); /* @give */
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
