import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ImageGradientLoss(nn.Module):
    def __init__(self):
        super().__init__()
        sobel = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        self.register_buffer("kernel", torch.stack([sobel, sobel.t()]).unsqueeze(1))

    def forward(self, pred, gray_image):
        size = pred.size()
        pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()
        image_grad = F.conv2d(gray_image, self.kernel, padding=1)
        pred_grad = F.conv2d(pred, self.kernel, padding=1)
        image_norm = (image_grad.pow(2).sum(1) + 1e-6).sqrt()
        pred_norm = (pred_grad.pow(2).sum(1) + 1e-6).sqrt()
        cosine = (image_grad * pred_grad).sum(1) / (image_norm * pred_norm)
        return (pred_norm * (1 - cosine.pow(2))).mean()


class HairMattingLoss(nn.Module):
    def __init__(self, gradient_loss_weight=0.3):
        super().__init__()
        self.gradient_loss_weight = gradient_loss_weight
        self.image_gradient_criterion = ImageGradientLoss()

    def forward(self, pred, image, mask):
        image_gradient_loss = self.image_gradient_criterion(pred, image.mean(1, keepdim=True))
        class_loss = F.nll_loss(pred.clamp(1e-6).log(), mask)
        return class_loss + self.gradient_loss_weight * image_gradient_loss, image_gradient_loss


class MobileHairNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 2, 1),
        )

    def forward(self, x):
        return self.net(x).softmax(1)


def faces(n, size=16):
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    center, radius = 5 + 6 * torch.rand(n, 2, 1, 1), 3 + 2 * torch.rand(n, 1, 1)
    mask = ((ys - center[:, 0]).pow(2) + (xs - center[:, 1]).pow(2) < radius.pow(2)).long()
    images = 0.8 * mask.unsqueeze(1) + 0.5 * torch.randn(n, 3, size, size)
    return images, mask


images, masks = faces(128)
net, criterion = MobileHairNet(), HairMattingLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(1, 13):
    total, gradient_total = 0.0, 0.0
    for index in torch.randperm(128).split(16):
        loss, gradient_loss = criterion(net(images[index]), images[index], masks[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        gradient_total += gradient_loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}, image gradient {gradient_total / 8:.4f}")
