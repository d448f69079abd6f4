// Two threads insert into and read from one SQLite database: `shared` over one connection, `own` over one each.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char *file;
static sqlite3 *connection;

static sqlite3 *connect_to_file(void)
{
    sqlite3 *opened;
    if (sqlite3_open(file, &opened) != SQLITE_OK)
        return NULL;
    sqlite3_busy_timeout(opened, 5000);
    return opened;
}

static void *use(void *name)
{
    sqlite3 *mine = connection ? connection : connect_to_file();
    for (int i = 0; i < 5; i++) {
        char *statement = sqlite3_mprintf("insert into t values(%Q, %d)", (char *)name, i);
        sqlite3_exec(mine, statement, NULL, NULL, NULL);
        sqlite3_free(statement);
        sqlite3_exec(mine, "select count(*), sum(b) from t", NULL, NULL, NULL);
    }
    if (!connection)
        sqlite3_close(mine);
    return NULL;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    file = words[2];
    sqlite3 *first = connect_to_file();
    sqlite3_exec(first, "create table t(a, b)", NULL, NULL, NULL);
    if (strcmp(words[1], "shared") == 0)
        connection = first;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, use, "one");
    pthread_create(&threads[1], NULL, use, "two");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    sqlite3_close(first);
    return 0;
}
