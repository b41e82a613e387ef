import torch
from torch import nn


class CompletionNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=2, dilation=2)
        self.bn2 = nn.BatchNorm2d(16)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=4, dilation=4)
        self.bn3 = nn.BatchNorm2d(16)
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.relu(self.bn3(self.conv3(x)))
        return torch.sigmoid(self.out(x))


def make_images(n, size=16, low=0.1, high=0.9):
    brightness = low + (high - low) * torch.rand(n, 1, 1, 1)
    ramp = torch.linspace(-0.1, 0.1, size).view(1, 1, 1, size)
    return brightness + ramp + 0.02 * torch.randn(n, 1, size, size)


def gen_mask(n, size=16, hole=5):
    mask = torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - hole, (2,)).tolist()
        mask[i, :, r : r + hole, c : c + hole] = 1.0
    return mask


def completion_input(x, mask, mpv):
    return torch.cat([x - x * mask + mpv * mask, mask], dim=1)


def completion_loss(x, output, mask):
    return nn.functional.mse_loss(output * mask, x * mask)


def train(model, images, mpv, steps, bsize=16):
    optimizer = torch.optim.Adadelta(model.parameters())
    for step in range(steps):
        x = images[torch.randint(0, len(images), (bsize,))]
        mask = gen_mask(bsize)
        loss = completion_loss(x, model(completion_input(x, mask, mpv)), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.5f}")


def predict(model, x, mpv):
    model.eval()
    mask = gen_mask(1)
    with torch.no_grad():
        output = model(completion_input(x, mask, mpv))
    inpainted = x * (1 - mask) + output * mask
    return ((inpainted - x).abs() * mask).sum().item() / mask.sum().item()


def main():
    torch.manual_seed(0)
    images = make_images(256)
    mpv = images.mean()
    model = CompletionNetwork()
    train(model, images, mpv, steps=250)
    torch.manual_seed(7)
    tests = make_images(40)
    errors = [predict(model, tests[i : i + 1], mpv) for i in range(len(tests))]
    print(f"mean error in the hole {sum(errors) / len(errors):.4f}, worst {max(errors):.4f}")


main()
