import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class AttentiveCNN(nn.Module):
    def __init__(self, hidden=32, features=24):
        super().__init__()
        self.resnet = nn.Sequential(
            nn.Conv2d(3, features, 3, 2, 1), nn.ReLU(), nn.Conv2d(features, features, 1)
        )
        self.affine_embed = nn.Linear(features, hidden)

    def forward(self, images):
        encoded_image = self.resnet(images)
        batch_size, features, height, width = encoded_image.shape
        num_pixels = height * width
        enc_image = encoded_image.view(batch_size, num_pixels, features)
        return F.relu(self.affine_embed(enc_image))


class AttentionDecoder(nn.Module):
    def __init__(self, hidden=32, classes=5):
        super().__init__()
        self.score = nn.Linear(hidden, 1)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, spatial_image):
        alpha = torch.softmax(self.score(spatial_image), dim=1)
        return self.fc((alpha * spatial_image).sum(1))


def pictures(n):
    labels = torch.randint(0, 5, (n,))
    colors = torch.tensor([[2.0, 0, 0], [0, 2.0, 0], [0, 0, 2.0], [2.0, 2.0, 0], [0, 2.0, 2.0]])
    images = 0.5 * torch.randn(n, 3, 14, 14)
    for i in range(n):
        y, x = torch.randint(0, 10, (2,)).tolist()
        images[i, :, y : y + 4, x : x + 4] += colors[labels[i]].view(3, 1, 1)
    return images, labels


images, labels = pictures(400)
encoder, decoder = AttentiveCNN(), AttentionDecoder()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for epoch in range(1, 16):
    total = 0.0
    for index in torch.randperm(400).split(40):
        loss = F.cross_entropy(decoder(encoder(images[index])), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / 10:.4f}")
