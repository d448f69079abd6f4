/* No second thread: nothing to report, and nothing to trip over. */
static int cell;

int main(void)
{
    for (int i = 0; i < 10; i++)
        cell += i; /* @cell */
    return cell == 45 ? 0 : 1;
}
