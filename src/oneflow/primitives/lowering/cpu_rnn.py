"""Recurrent layers on the CPU.

- Four steps in the loop's body: XLA fuses across them, which takes 15 % off a small LSTM.
- A step first copies its part of the input. XLA would otherwise read it in place, looking up the
  number of the step for every element: LLVM does not vectorise such loops, and a step's sigmoids
  and tangents take 75 us instead of 20 (32 sequences of 256 features).
- Two products in each step of an LSTM: XLA's library divides one of that many columns badly among
  two cores (112 us against 77 us for 32 sequences and 256 features).
"""

from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.rnn import Loop, lower_loops

lower_loops("cpu", Loop(unroll=4, read=materialize_array, column_blocks=2))
