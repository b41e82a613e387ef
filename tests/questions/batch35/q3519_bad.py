import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
SIZE = 16


def draw_person(generator):
    image = 90 + 20 * torch.randn(3, SIZE, SIZE, generator=generator)
    points = torch.randint(2, SIZE - 2, (3, 2), generator=generator)
    for channel, (r, c) in enumerate(points.tolist()):
        image[channel, r - 1 : r + 2, c - 1 : c + 2] += 110
    return image.clamp(0, 255).to(torch.uint8), points.float()


class COCODataset(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        self.items = [draw_person(generator) for _ in range(count)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        image, points = self.items[index]
        image = (image.float() / 255 - MEAN) / STD
        return image, points / SIZE


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 3, 1),
        )
        ticks = (torch.arange(SIZE) / SIZE).float()
        self.register_buffer("rows", ticks.view(1, 1, SIZE, 1))
        self.register_buffer("cols", ticks.view(1, 1, 1, SIZE))

    def forward(self, x):
        heat = self.conv(x)
        heat = torch.softmax(heat.flatten(2), dim=2).view_as(heat)
        return torch.stack([(heat * self.rows).sum((2, 3)), (heat * self.cols).sum((2, 3))], dim=2)


def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for images, points in loader:
            loss = nn.functional.mse_loss(model(images), points)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.5f}")


@torch.no_grad()
def inference(model, image):
    model.eval()
    tensor = image.float() / 255
    return model(tensor.unsqueeze(0))[0] * SIZE


def main():
    torch.manual_seed(0)
    model = PoseNet()
    train(model, DataLoader(COCODataset(320), batch_size=32, shuffle=True), epochs=6)
    generator = torch.Generator().manual_seed(99)
    error = 0.0
    for _ in range(50):
        image, points = draw_person(generator)
        error += (inference(model, image) - points).norm(dim=1).mean().item()
    print(f"mean error {error / 50:.3f} pixels")


main()
