import torch
from torch import nn

torch.manual_seed(0)


def binary_focal_loss_with_logits(inputs, target, alpha=0.25, gamma=2.0, eps=1e-8):
    probs = torch.sigmoid(inputs)
    loss_tmp = -alpha * torch.pow(1.0 - probs + eps, gamma) * target * torch.log(probs + eps)
    loss_tmp = loss_tmp - (1 - alpha) * torch.pow(probs + eps, gamma) * (1.0 - target) * torch.log(
        1.0 - probs + eps
    )
    return loss_tmp.mean()


class SegHead(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, 1, 1),
        )

    def forward(self, image):
        return 60.0 * self.net(image)


def make_batch(n=16, size=16):
    image = 0.7 * torch.randn(n, 1, size, size)
    mask = torch.zeros(n, 1, size, size)
    for k in range(n):
        y, x = torch.randint(2, size - 6, (2,)).tolist()
        mask[k, 0, y : y + 4, x : x + 4] = 1.0
    return image + 1.5 * mask, mask


def main():
    model = SegHead()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, 151):
        image, mask = make_batch()
        logits = model(image)
        loss = binary_focal_loss_with_logits(logits, mask, alpha=0.5, gamma=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            wrong = ((logits > 0).float() - mask).abs().mean().item()
            print(f"step {step}: loss {loss.item():.5f} wrong pixels {wrong:.4f}")


if __name__ == "__main__":
    main()
