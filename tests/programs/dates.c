/* localtime, gmtime, asctime and ctime return what lies in memory of all threads: beside each other two calls race, under
   a lock, or into memory of one's own, they do not. Whoever calls first reads the time zone. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused)
{
    time_t when = 86400 * 400;
    struct tm own, *date = localtime(&when); /* @local */
    if (date->tm_year != 71)                 /* @looks */
        abort();
    localtime_r(&when, &own); /* @own */
    char text[32];
    strftime(text, sizeof text, "%F %Z", &own);
    asctime(&own); /* @words */
    pthread_mutex_lock(&lock);
    if (strlen(ctime(&when)) != 25) /* @local_locked */
        abort();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused)
{
    time_t when = 86400 * 500;
    if (gmtime(&when)->tm_year != 71) /* @universal */
        abort();
    struct tm own;
    gmtime_r(&when, &own); /* @own_universal */
    own.tm_hour = 30;
    if (mktime(&own) == -1)
        abort();
    own.tm_year = 9000;
    if (!strstr(asctime(&own), "10900")) /* @words_of_second */
        abort();
    pthread_mutex_lock(&lock);
    own.tm_year = 100;
    if (!strstr(asctime(&own), "2000")) /* @words_locked */
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
