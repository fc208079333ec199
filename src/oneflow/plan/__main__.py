"""``python -m oneflow.plan``: what a plan for many devices costs."""

from oneflow.plan.command import main

if __name__ == "__main__":
    main()
