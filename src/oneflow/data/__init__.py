"""Data: data sets, samplers, the loader that makes batches of them, and readers of record files."""

from oneflow.data.readers.job_readers import (
    coco_reader as coco_reader,
    image_decoder_random_crop_resize as ImageDecoderRandomCropResize,
    image_decoder_random_crop_resize as image_decoder_random_crop_resize,
    megatron_gpt_mmap_data_loader as MegatronGPTMMapDataLoader,
    megatron_gpt_mmap_data_loader as megatron_gpt_mmap_data_loader,
    ofrecord_bytes_decoder as OFRecordBytesDecoder,
    ofrecord_bytes_decoder as ofrecord_bytes_decoder,
    ofrecord_image_classification_reader as ofrecord_image_classification_reader,
    ofrecord_image_decoder as OFRecordImageDecoder,
    ofrecord_image_decoder as ofrecord_image_decoder,
    ofrecord_image_decoder_random_crop as OFRecordImageDecoderRandomCrop,
    ofrecord_image_decoder_random_crop as ofrecord_image_decoder_random_crop,
    ofrecord_loader as ofrecord_loader,
    ofrecord_raw_decoder as OFRecordRawDecoder,
    ofrecord_raw_decoder as ofrecord_raw_decoder,
    ofrecord_reader as ofrecord_reader,
)
from oneflow.data.readers.ofrecord import OFRecordWriter as OFRecordWriter

__all__ = [
    "ImageDecoderRandomCropResize",
    "MegatronGPTMMapDataLoader",
    "OFRecordBytesDecoder",
    "OFRecordImageDecoder",
    "OFRecordImageDecoderRandomCrop",
    "OFRecordRawDecoder",
    "OFRecordWriter",
    "coco_reader",
    "image_decoder_random_crop_resize",
    "megatron_gpt_mmap_data_loader",
    "ofrecord_bytes_decoder",
    "ofrecord_image_classification_reader",
    "ofrecord_image_decoder",
    "ofrecord_image_decoder_random_crop",
    "ofrecord_loader",
    "ofrecord_raw_decoder",
    "ofrecord_reader",
]
