import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
NCLASS = 3


def make_batch(n, size=16):
    label = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        c = torch.randint(0, NCLASS, (1,)).item()
        label[i] = c
        c2 = (c + 1) % NCLASS
        label[i, :, size // 2:] = c2
    image = 0.5 * torch.randn(n, 3, size, size) + F.one_hot(label, NCLASS).permute(0, 3, 1, 2).float()
    return image, label


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, NCLASS, 1))

    def forward(self, x):
        out = self.features(x)
        if not self.training:
            out = torch.softmax(out, dim=1)
        return out


def batch_pix_accuracy(output, target):
    predict = np.argmax(output.numpy().astype("int64"), 1) + 1
    target = target.numpy().astype("int64") + 1
    pixel_labeled = np.sum(target > 0)
    pixel_correct = np.sum((predict == target) * (target > 0))
    return pixel_correct, pixel_labeled


train_x, train_y = make_batch(96)
val_x, val_y = make_batch(48)
model = SegNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    for i in range(0, 96, 16):
        loss = F.cross_entropy(model(train_x[i:i + 16]), train_y[i:i + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        model.eval()
        correct, labeled = 0, 0
        with torch.no_grad():
            for i in range(0, 48, 16):
                c, l = batch_pix_accuracy(model(val_x[i:i + 16]), val_y[i:i + 16])
                correct += c
                labeled += l
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} pixAcc {correct / labeled:.4f}")
