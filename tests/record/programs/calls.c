/* Leaves all to a library. */
extern int call(void);

int main(void)
{
    return call();
}
