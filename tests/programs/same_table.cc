/* A destructor that has nothing to do still stores the table's address of its class, which is there already, and then
 * waits for the last user: no race. One that stores another address meanwhile is.
 */
#include <pthread.h>
#include <semaphore.h>

static sem_t same_done, other_done;

struct Base {
    virtual int answers() { return 1; }
    virtual ~Base() {} /* @other_table */
};

struct Same : Base {
    ~Same() override { sem_wait(&same_done); } /* @same_table */
};

struct Other : Base {
    int answers() override { return 2; }
    ~Other() override {}
};

static Base *same, *other;

static void *uses(void *unused)
{
    same->answers(); /* @uses_same */
    sem_post(&same_done);
    other->answers(); /* @uses_other */
    sem_post(&other_done);
    return unused;
}

int main()
{
    sem_init(&same_done, 0, 0);
    sem_init(&other_done, 0, 0);
    same = new Same;
    other = new Other;
    pthread_t thread;
    pthread_create(&thread, nullptr, uses, nullptr);
    delete same;
    other->~Base(); /* calls both destructors: the second stores the base's table */
    sem_wait(&other_done);
    operator delete(other);
    pthread_join(thread, nullptr);
}
