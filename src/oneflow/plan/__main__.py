"""``python -m oneflow.plan``: print the plan of a step on many devices."""

from oneflow.plan.command import main

if __name__ == "__main__":
    main()
