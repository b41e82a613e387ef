import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def dc(result, reference):
    result, reference = result.astype(bool), reference.astype(bool)
    intersection = np.count_nonzero(result & reference)
    size = np.count_nonzero(result) + np.count_nonzero(reference)
    return 2.0 * intersection / size if size > 0 else 1.0


def make_images(n, rng):
    yy, xx = np.mgrid[:32, :32]
    masks = np.zeros((n, 1, 32, 32), dtype=np.float32)
    for i in range(n):
        r = rng.choice([2, 3, 11])
        cy, cx = rng.randint(r, 32 - r, 2)
        masks[i, 0] = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
    images = masks + rng.randn(n, 1, 32, 32).astype(np.float32) * 0.8
    return torch.from_numpy(images), torch.from_numpy(masks)


class SmallUNet(nn.Module):
    n_classes = 1

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 5, padding=2), nn.ReLU(),
                                  nn.Conv2d(8, 1, 1))

    def forward(self, x):
        return self.body(x)


def test(model, dataset, batch_size, threshold=0.5):
    model.eval()
    metric_list_dice = []
    with torch.no_grad():
        for images, true_masks in DataLoader(dataset, batch_size=batch_size):
            masks_pred = torch.sigmoid(model(images)).numpy().squeeze(1)
            masks_pred = np.where(masks_pred > threshold, 1, 0)
            true_masks = true_masks.numpy().squeeze(1)
            for pred, true in zip(masks_pred, true_masks):
                metric_list_dice.append(dc(pred, true))
    return np.mean(metric_list_dice)


rng = np.random.RandomState(0)
torch.manual_seed(0)
train_set = TensorDataset(*make_images(400, rng))
test_set = TensorDataset(*make_images(192, rng))
model = SmallUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for images, masks in DataLoader(train_set, batch_size=20, shuffle=True):
        loss = nn.functional.binary_cross_entropy_with_logits(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
for bs in (1, 2, 16, 64):
    print(f"bs={bs}, Mean Dice: {test(model, test_set, bs):.6f}")
