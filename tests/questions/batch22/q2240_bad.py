import torch
import torch.nn as nn
import torch.nn.functional as F

N_TYPES = 400
IMAGE_DIM, SPOT_DIM = 96, 120


class PairedData:
    def __init__(self, seed=1):
        g = torch.Generator().manual_seed(seed)
        self.mix_image = torch.randn(12, IMAGE_DIM, generator=g)
        self.mix_spot = torch.randn(12, SPOT_DIM, generator=g)
        self.g = g

    def sample(self, n):
        latent = torch.randn(n, 12, generator=self.g)
        image = torch.tanh(latent @ self.mix_image / 3) + 0.2 * torch.randn(n, IMAGE_DIM, generator=self.g)
        spot = F.relu(latent @ self.mix_spot / 3) + 0.2 * torch.randn(n, SPOT_DIM, generator=self.g)
        return image, spot


class ProjectionHead(nn.Module):
    def __init__(self, dim_in, dim_out, dropout=0.1):
        super().__init__()
        self.projection = nn.Linear(dim_in, dim_out)
        self.fc = nn.Linear(dim_out, dim_out)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(dim_out)

    def forward(self, x):
        projected = self.projection(x)
        x = self.dropout(self.fc(F.gelu(projected)))
        return self.layer_norm(x + projected)


def cross_entropy(preds, targets):
    return (-targets * F.log_softmax(preds, dim=-1)).sum(1)


class CLIPModel(nn.Module):
    def __init__(self, temperature=0.1, dim=32):
        super().__init__()
        self.image_projection = ProjectionHead(IMAGE_DIM, dim)
        self.spot_projection = ProjectionHead(SPOT_DIM, dim)
        self.temperature = temperature

    def forward(self, image, spot):
        image_embeddings = self.image_projection(image)
        spot_embeddings = self.spot_projection(spot)
        logits = (spot_embeddings @ image_embeddings.T) / self.temperature
        images_similarity = image_embeddings @ image_embeddings.T
        spots_similarity = spot_embeddings @ spot_embeddings.T
        targets = F.softmax((images_similarity + spots_similarity) / 2 * self.temperature, dim=-1)
        spots_loss = cross_entropy(logits, targets)
        images_loss = cross_entropy(logits.T, targets.T)
        return ((images_loss + spots_loss) / 2).mean()


def retrieval(model, image, spot):
    model.eval()
    with torch.no_grad():
        scores = F.normalize(model.spot_projection(spot), dim=-1) @ F.normalize(model.image_projection(image), dim=-1).T
    model.train()
    rank = (scores > scores.diag()[:, None]).sum(1)
    return (rank == 0).float().mean().item(), (rank < 5).float().mean().item()


def main():
    torch.manual_seed(0)
    data = PairedData()
    train_image, train_spot = data.sample(2048)
    test_image, test_spot = data.sample(N_TYPES)
    model = CLIPModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)
    for epoch in range(15):
        total = 0.0
        for idx in torch.randperm(len(train_image)).split(128):
            loss = model(train_image[idx], train_spot[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 16
        if epoch % 5 == 4:
            print(f"epoch {epoch} loss {total:.4f}")
    top1, top5 = retrieval(model, test_image, test_spot)
    print(f"train loss {total:.4f} test top1 {top1:.3f} top5 {top5:.3f}")


if __name__ == "__main__":
    main()
