import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class SIMCLRLoss(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.tau = temperature

    def forward(self, outputs):
        q_a = F.normalize(outputs["aug1_embed"], dim=-1)
        q_b = F.normalize(outputs["aug2_embed"], dim=-1)
        labels = torch.arange(len(q_a))
        masks = F.one_hot(labels, len(q_a)) * 1e9
        logits_aa = q_a @ q_a.t() / self.tau - masks
        logits_bb = q_b @ q_b.t() / self.tau - masks
        logits_ab = q_a @ q_b.t() / self.tau
        logits_ba = q_b @ q_a.t() / self.tau
        loss_a = F.cross_entropy(torch.cat([logits_ab, logits_aa], dim=1), labels)
        loss_b = F.cross_entropy(torch.cat([logits_ba, logits_bb], dim=1), labels)
        return (loss_a + loss_b) / 2


class ACLIPLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.simclr_loss = SIMCLRLoss()
        self.logit_scale = 10.0

    def forward(self, image_embed, image_ssl_embed, text_embed):
        bs = text_embed.shape[0]
        inputs = {}
        inputs["aug1_embed"] = image_ssl_embed[:bs]
        inputs["aug2_embed"] = image_ssl_embed[bs:]
        ssl_loss = self.simclr_loss(inputs)

        image_embed, text_embed = F.normalize(image_embed, dim=-1), F.normalize(text_embed, dim=-1)
        labels = torch.arange(bs)
        clip_loss = 0.0
        for view in (image_embed[:bs], image_embed[bs:]):
            logits = self.logit_scale * view @ text_embed.t()
            clip_loss = (
                clip_loss + (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 4
            )
        return clip_loss, ssl_loss


class ACLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32))
        self.image_projection = nn.Linear(32, 16)
        self.image_mlp = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
        self.text = nn.Linear(10, 16)

    def forward(self, images, text):
        features = self.visual(images)
        return self.image_projection(features), self.image_mlp(features), self.text(text)


content = torch.randn(40, 48)


def augment(x):
    return x * (torch.rand_like(x) > 0.4) + 0.4 * torch.randn_like(x)


def load_batch(n=64):
    latent = torch.randn(n, 40)
    return latent @ content / 6, latent[:, :10]


model, criterion = ACLIP(), ACLIPLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    images, text = load_batch()
    views = torch.cat([augment(images), augment(images)])
    clip_loss, ssl_loss = criterion(*model(views, text))
    loss = clip_loss + ssl_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 100 == 0:
        print(f"step {step + 1}: clip loss {clip_loss.item():.3f}  simclr loss {ssl_loss.item():.3f}")

torch.manual_seed(1)
with torch.no_grad():
    images, text = load_batch(500)
    _, z, _ = model(torch.cat([augment(images), augment(images)]), text.repeat(2, 1))
    z1, z2 = F.normalize(z[:500], dim=1), F.normalize(z[500:], dim=1)
    retrieval = ((z1 @ z2.t()).argmax(1) == torch.arange(500)).float().mean().item()
print(
    f"cosine of two views of an image {(z1 * z2).sum(1).mean().item():.3f}, retrieval of the other view {retrieval:.3f}"
)
