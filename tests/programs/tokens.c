/* strtok goes on where any thread's last call has left off: beside each other two calls race, under a lock they do not. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    char text[] = "one two";
    if (strcmp(strtok(text, " "), "one") != 0) /* @first */
        abort();
    pthread_mutex_lock(&lock);
    char more[] = ",three;four,";
    char *token = strtok(more, ",;"); /* @first_locked */
    for (int i = 0; i < 2; i++, token = strtok(NULL, ",;")) /* @first_goes_on */
        if (strcmp(token, i == 0 ? "three" : "four") != 0)
            abort();
    if (token)
        abort();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    char text[] = "five six";
    strtok(text, " "); /* @second_locked */
    if (strcmp(strtok(NULL, " "), "six") != 0) /* @second_goes_on */
        abort();
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
