from recveil.cli import main

main()
