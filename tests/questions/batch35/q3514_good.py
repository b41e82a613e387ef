import resource

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CropDataset(Dataset):
    def __init__(self, count, size=24):
        self.count = count
        self.size = size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        return torch.randn(3, self.size, self.size, generator=g), f"crop_{index:05d}.jpg"


class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Classifier:
    def __init__(self, class_names):
        self.class_names = class_names
        self.model = Backbone(len(class_names))
        self.model.eval()

    def results_generation(self, logits, paths):
        probs = torch.softmax(logits, dim=1)
        best = probs.argmax(dim=1)
        return [
            {"img_id": path, "prediction": self.class_names[i], "confidence": float(probs[row, i])}
            for row, (path, i) in enumerate(zip(paths, best.tolist()))
        ]

    def batch_image_classification(self, dataset, batch_size=16):
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=False)
        total_logits, total_paths = [], []
        for number, (images, paths) in enumerate(loader):
            with torch.no_grad():
                total_logits.append(self.model(images))
            total_paths.extend(paths)
            if number % 20 == 0:
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                print(f"batch {number}: memory {memory} MB")
        total_logits = torch.cat(total_logits, dim=0)
        return self.results_generation(total_logits, total_paths)


def main():
    torch.manual_seed(0)
    classifier = Classifier([f"species_{i}" for i in range(10)])
    results = classifier.batch_image_classification(CropDataset(1200))
    print(len(results), results[0])


main()
