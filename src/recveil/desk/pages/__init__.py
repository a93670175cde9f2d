"""The release desk in the browser: a local server for one owner and one folder, on functions of recveil.desk."""
