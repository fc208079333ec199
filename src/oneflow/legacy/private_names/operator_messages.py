"""Constants of `oneflow.core.operator.op_conf_pb2`: the activations that layers are told of."""

kNone, kTanH, kSigmoid, kRelu = range(4)
