import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class DenseFeatures(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, image):
        return self.conv2(F.relu(self.conv1(image)))


class SoftDetection(nn.Module):
    def forward(self, batch):
        b = batch.size(0)
        batch = F.relu(batch)
        peak = batch.view(b, -1).max(dim=1)[0].view(b, 1, 1, 1)
        exp = torch.exp(batch / (peak + 1e-6))
        summed = 9 * F.avg_pool2d(F.pad(exp, [1] * 4, value=1.0), 3, stride=1)
        local_max_score = exp / summed
        depth_wise_max = batch.max(dim=1)[0]
        depth_wise_max_score = batch / (depth_wise_max.unsqueeze(1) + 1e-8)
        score = (local_max_score * depth_wise_max_score).max(dim=1)[0]
        return score / (score.view(b, -1).sum(dim=1).view(b, 1, 1) + 1e-6)


def make_images(n=160, size=16):
    images = 0.2 * torch.rand(n, 1, size, size)
    corners = torch.randint(2, size - 3, (n, 2))
    for image, (row, col) in zip(images, corners.tolist()):
        image[0, row : row + 2, col : col + 2] += 1.0
    for index in range(120, n, 9):
        images[index, :, :, size // 2 :] = 0.0
        images[index, 0, 4:6, 3:5] = 1.0
        corners[index] = torch.tensor([4, 3])
    return images, corners


def main():
    images, corners = make_images()
    extractor, detector = DenseFeatures(), SoftDetection()
    optimizer = torch.optim.Adam(extractor.parameters(), lr=5e-3)
    flat = corners[:, 0] * 16 + corners[:, 1]
    for epoch in range(6):
        total = 0.0
        for start in range(0, 160, 16):
            batch, target = images[start : start + 16], flat[start : start + 16]
            score = detector(extractor(batch)).view(16, -1)
            loss = F.nll_loss(torch.log(score + 1e-6), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 10:.4f}")


if __name__ == "__main__":
    main()
