"""``python -m oneflow``."""

from oneflow.runtime.doctor import main

if __name__ == "__main__":
    main()
