"""health.py [URL]: ends with 0 when the server at URL, by default the one of BENCHWRIGHT_SERVER, answers.

For health checks of containers, whose images need no other program for it. Being told to sign in is an answer too.
"""

import os
import sys
import urllib.error
import urllib.request

url = sys.argv[1] if len(sys.argv) > 1 else os.environ["BENCHWRIGHT_SERVER"]
try:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # health is asked of this very server
    opener.open(url, timeout=4).read(1)
except urllib.error.HTTPError as error:
    sys.exit(f"{url} answers {error.code}" if error.code >= 500 else 0)
except OSError as error:
    sys.exit(f"{url} does not answer: {error}")
