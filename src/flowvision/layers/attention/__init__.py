"""Layers that weigh tokens, channels or positions."""

from flowvision.layers.attention.bam import BAMModule as BAMModule
from flowvision.layers.attention.cbam import CbamModule as CbamModule
from flowvision.layers.attention.coordatt import CoordAttModule as CoordAttModule
from flowvision.layers.attention.eca import EcaModule as EcaModule
from flowvision.layers.attention.gct import GCTModule as GCTModule
from flowvision.layers.attention.global_context import GlobalContext as GlobalContext
from flowvision.layers.attention.non_local_attn import NonLocalAttn as NonLocalAttn
from flowvision.layers.attention.se import SEModule as SEModule
from flowvision.layers.attention.sr_attention import SR_Attention as SR_Attention
